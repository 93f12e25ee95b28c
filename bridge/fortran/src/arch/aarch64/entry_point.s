// The end of an entry point, where the process has none of its symbols. An address in this entry point tells which function it was.
    adr x0, .
    b qmpi_missing
2:
    br x16
