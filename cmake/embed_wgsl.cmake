# cmake -DOUT=wgsl_sources.h -DROOT=engine/kernels -P embed_wgsl.cmake
# Writes every .wgsl file below ROOT as a string constant: formats/q4_k.wgsl → lapidary::wgsl::formats_q4_k.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.wgsl)
list(SORT files)
set(text "// Made from the .wgsl files by cmake/embed_wgsl.cmake.\n#pragma once\n\n#include <string_view>\n\nnamespace lapidary::wgsl {\n")
foreach(file ${files})
  file(READ ${ROOT}/${file} source)
  # Comments and indentation are for people who read the files; lines keep their numbers.
  string(REGEX REPLACE "[ \t]*//[^\n]*" "" source "${source}")
  string(REGEX REPLACE "\n[ \t]+" "\n" source "${source}")
  string(REGEX REPLACE "\\.wgsl$" "" name ${file})
  string(MAKE_C_IDENTIFIER ${name} name)
  string(APPEND text "inline constexpr std::string_view ${name} = R\"wgsl(${source})wgsl\";\n")
endforeach()
string(APPEND text "}  // namespace lapidary::wgsl\n")
file(WRITE ${OUT}.new "${text}")
execute_process(COMMAND ${CMAKE_COMMAND} -E copy_if_different ${OUT}.new ${OUT})
