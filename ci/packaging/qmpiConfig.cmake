# find_package(qmpi): what builds and runs QMPI tools.
#
#   qmpi::qmpi       the headers; a tool needs no library, as the process has its functions
#   qmpi::fortran    libqmpi_fortran.so, for Fortran programs that call QMPI_SEND and the like
#   qmpi::command    the command `qmpi`, for tests: add_test(NAME ... COMMAND qmpi::command run -t $<TARGET_FILE:tool> ...)
#   qmpi::shim-gen   the generator
#   qmpi_RUNTIME     libqmpi.so, for LD_PRELOAD without the command

get_filename_component(qmpi_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(qmpi_RUNTIME "${qmpi_prefix}/lib/qmpi/libqmpi.so")

if(NOT TARGET qmpi::qmpi)
    add_library(qmpi::qmpi INTERFACE IMPORTED)
    set_target_properties(qmpi::qmpi PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${qmpi_prefix}/include")
    add_library(qmpi::fortran SHARED IMPORTED)
    set_target_properties(qmpi::fortran PROPERTIES
        IMPORTED_LOCATION "${qmpi_prefix}/lib/qmpi/libqmpi_fortran.so" IMPORTED_NO_SONAME TRUE)
    add_executable(qmpi::command IMPORTED)
    set_target_properties(qmpi::command PROPERTIES IMPORTED_LOCATION "${qmpi_prefix}/bin/qmpi")
    add_executable(qmpi::shim-gen IMPORTED)
    set_target_properties(qmpi::shim-gen PROPERTIES IMPORTED_LOCATION "${qmpi_prefix}/bin/shim-gen")
endif()

foreach(qmpi_file "${qmpi_RUNTIME}" "${qmpi_prefix}/include/qmpi.h" "${qmpi_prefix}/bin/qmpi")
    if(NOT EXISTS "${qmpi_file}")
        set(qmpi_FOUND FALSE)
        set(qmpi_NOT_FOUND_MESSAGE "${qmpi_file} is missing: the installation of qmpi is not whole")
    endif()
endforeach()
unset(qmpi_file)
unset(qmpi_prefix)
