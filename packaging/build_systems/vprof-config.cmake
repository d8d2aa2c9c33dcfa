# find_package(vprof): vprof_instrument(TARGET...) puts probes into single targets, vprof::vprof has the C API.
#
# It lies in PREFIX/lib/cmake/vprof. CMake looks there for each PREFIX/bin in PATH, so it is found where vprof-cc is.
cmake_minimum_required(VERSION 3.21)  # linker launchers
# Not /, where /lib is /usr/lib.
get_filename_component(vprof_PREFIX "${CMAKE_CURRENT_LIST_DIR}" REALPATH)
get_filename_component(vprof_PREFIX "${vprof_PREFIX}/../../.." ABSOLUTE)

if(NOT TARGET vprof::vprof)
  add_library(vprof::vprof SHARED IMPORTED)
  set_target_properties(vprof::vprof PROPERTIES IMPORTED_LOCATION ${vprof_PREFIX}/lib/vprof/libvprof.so
                                              INTERFACE_INCLUDE_DIRECTORIES ${vprof_PREFIX}/include)
endif()

# Compiles and links each target by vprof-cc and vprof-c++, with the project's own compiler behind them. A program or
# shared library that takes in an instrumented static or object library must be instrumented, too.
function(vprof_instrument)
  if(NOT CMAKE_GENERATOR MATCHES "Ninja|Makefiles")
    message(FATAL_ERROR "vprof_instrument: ${CMAKE_GENERATOR} knows no compiler launchers: use Ninja or Makefiles")
  endif()
  # Callers may be outside of the scope that found the package.
  get_filename_component(launcher "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" REALPATH)
  get_filename_component(launcher "${launcher}/../../vprof/vprof-launch" ABSOLUTE)
  foreach(target IN LISTS ARGN)
    if(NOT TARGET ${target})
      message(FATAL_ERROR "vprof_instrument: there is no target ${target} (yet)")
    endif()
    foreach(pair C:cc CXX:c++)
      string(REPLACE ":" ";" pair ${pair})
      list(GET pair 0 language)
      list(GET pair 1 wrapper)
      if(CMAKE_${language}_COMPILER)
        # A launcher that is there already, as ccache, belongs to the compiler that vprof-cc calls.
        get_target_property(before ${target} ${language}_COMPILER_LAUNCHER)
        if(before)
          list(JOIN before " " before)
          string(APPEND before " ")
        else()
          set(before "")
        endif()
        set(launch ${launcher} ${wrapper})
        set_target_properties(
          ${target} PROPERTIES ${language}_COMPILER_LAUNCHER "${launch};${before}${CMAKE_${language}_COMPILER}"
                               ${language}_LINKER_LAUNCHER "${launch};${CMAKE_${language}_COMPILER}")
      endif()
    endforeach()
  endforeach()
endfunction()
