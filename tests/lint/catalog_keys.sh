#!/bin/sh
# The pages about entries of the catalog name every key that an entry may hold.
fail=0
check() { # SOURCE PAGE: each key in a table of fields stands in `backquotes` on the page, alone or behind a dot
    keys=$(grep -oE '(ROW_[A-Z_]+|RATE|PEAK|PRICE|LLM_[A-Z]+|\.name =) *\(?"[a-z0-9_]+"' "$1" | cut -d'"' -f2 | LC_ALL=C sort -u)
    [ "$(echo "$keys" | wc -l)" -gt 10 ] || { echo "$1: no table of fields was found"; fail=1; }
    for key in $keys; do
        grep -qE "\`([a-z_A-Z]*\\.)?$key\`" "$2" || { echo "$2: the key '$key' of $1 is not named"; fail=1; }
    done
}
check sim/catalog/catalog.c configs/hardware/README.md
check sim/catalog/engine.c configs/engines/README.md
check sim/catalog/storage.c configs/storage/README.md
exit $fail
