# cmake -DIN=file -DOUT=file.cc -P embed.cmake: the bytes of a file as a C++ function.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUT} "#include \"tools/export/field_reference.h\"

namespace rehearse {

std::string scenario_schema() {
  static const char kBytes[] = {
${bytes}
  };
  return {kBytes, sizeof kBytes};
}

}  // namespace rehearse
")
