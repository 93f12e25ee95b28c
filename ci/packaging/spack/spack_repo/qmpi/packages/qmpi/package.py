# Spack 1.0 and newer: spack repo add ci/packaging/spack/spack_repo/qmpi && spack install qmpi
# It builds the checkout of qmpi that this file is in, as committed on its branch main.
import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class Qmpi(Package):
    """Stacks MPI tools: any PMPI and QMPI tools in one run, in any order, each in a
    linker namespace of its own. Programs, tools and the MPI library stay as they are."""

    homepage = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[".."] * 7))
    git = homepage

    license("MIT OR Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("rust@1.88:", type="build")

    # One build serves every MPI library, so it depends on none.
    requires("platform=linux", msg="qmpi is for Linux with glibc 2.28 or newer")
    requires("target=x86_64:", "target=aarch64:", policy="one_of", msg="qmpi is for x86-64 and AArch64")

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("build", "--release", "--locked", "--jobs", str(make_jobs))
        bash = which("bash", required=True)
        bash("ci/packaging/install", "--build", "target/release", prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.qmpi)("doctor", "--", "true")
