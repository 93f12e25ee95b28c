    b {target}
