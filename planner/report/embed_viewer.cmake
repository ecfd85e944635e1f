# The viewer is part of the library, as it is committed: no npm is needed to build (dashboard/README.md).
set(dist "${CMAKE_SOURCE_DIR}/dashboard/dist")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${dist}/viewer.js" "${dist}/viewer.css")
file(READ "${dist}/viewer.js" EVACUATOR_VIEWER_SCRIPT)
file(READ "${dist}/viewer.css" EVACUATOR_VIEWER_STYLE)
file(SHA256 "${dist}/viewer.js" EVACUATOR_VIEWER_SCRIPT_DIGEST)
file(SHA256 "${dist}/viewer.css" EVACUATOR_VIEWER_STYLE_DIGEST)
configure_file("${CMAKE_SOURCE_DIR}/planner/report/embedded_viewer.cpp.in" "${CMAKE_BINARY_DIR}/embedded_viewer.cpp" @ONLY)
target_sources(planner PRIVATE "${CMAKE_BINARY_DIR}/embedded_viewer.cpp")
