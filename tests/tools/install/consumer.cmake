# The CMakeLists.txt of somebody who uses an installed Rehearse.
cmake_minimum_required(VERSION 3.25)
project(Consumer LANGUAGES CXX)
find_package(Rehearse REQUIRED)
add_executable(parameter_server parameter_server.cc)
target_link_libraries(parameter_server PRIVATE Rehearse::sim_cluster Rehearse::core_comm)
add_executable(recovery_policy recovery_policy.cc)
target_link_libraries(recovery_policy PRIVATE Rehearse::sim_cluster)
