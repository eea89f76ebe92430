#!/bin/sh
# The inputs of calibrations in configs/calibration/sources.json, for the Makefile.
#
# usage: sources.sh PART               the names in a part (calibration, power, engines), in order
#        sources.sh PART NAME like     the GPU with the same chip; nothing when there is none
#        sources.sh PART NAME files    its files; those outside configs/ lie below $DATA, also behind GPU=
#        sources.sh PART NAME sets     the names of its sets by library and version, in order
#        sources.sh PART NAME SET      the files of such a set
json="readfile('configs/calibration/sources.json')"
case ${3-} in
'') sqlite3 :memory: "select key from json_each($json, '\$.$1')" ;;
like) sqlite3 :memory: "select json_extract($json, '\$.$1.\"$2\".like')" ;;
sets) sqlite3 :memory: "select key from json_each($json, '\$.$1.\"$2\".sets')" ;;
*)
    list=files
    [ "$3" = files ] || list="sets.\"$3\""
    sqlite3 :memory: "select substr(value, 1, instr(value, '=')) ||
        case when value like 'configs/%' then '' else '$DATA/' end || substr(value, instr(value, '=') + 1)
        from json_each($json, '\$.$1.\"$2\".$list')"
    ;;
esac
