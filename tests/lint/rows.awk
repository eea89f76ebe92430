# The ROW_ macros of sim/core/config/config_field.h, as a table of a page: each with its arguments and with what the
# header says of its kind of value and of the flag that it sets. Then the units of sim/core/units.h:
# awk -f tests/lint/rows.awk sim/core/config/config_field.h sim/core/units.h

function fail(message) { print message >"/dev/stderr"; failed = 1; exit 1 }

# The text of the comment in a line, with what continues it.
function comment_of(line) {
    sub(/^[^*]*\/\* */, "", line)
    sub(/ *\*\/.*/, "", line)
    return line
}

/^enum config_(kind|flags) \{/ { in_enum = 1; next }
/^\};/ { in_enum = 0 }
in_enum && /^    CONFIG_[A-Z_]+/ {
    name = $1
    sub(/,$/, "", name)
    says[name] = comment_of($0)
    continues = !/\*\//
    next
}
in_enum && continues { says[name] = says[name] " " comment_of("/*" $0); continues = !/\*\//; next }

# The comment before the macros.
/^\/\* Rows of a table/ { in_rows = 1; continues = 1 }
in_rows && continues {
    if (/\*\//) continues = 0
    line = $0
    sub(/^(\/\*| \*) ?/, "", line)
    sub(/ *\*\/$/, "", line)
    about = about line "\n"
    next
}

/^#define ROW_[A-Z_]+\(/ {
    macro = $0
    sub(/^#define /, "", macro)
    sub(/\).*/, ")", macro)
    gsub(/_,/, ",", macro)
    gsub(/_\)/, ")", macro)
    body = ""
    in_row = 1
    next
}
in_row {
    body = body $0
    if (/\\$/) next
    in_row = 0
    n = split(body, words, /[^A-Z_]+/)
    value = ""
    for (i = 1; i <= n; i++) if (words[i] in says) value = value (value == "" ? "" : "; ") says[words[i]]
    if (body ~ /CONFIG_ROW_VARIANT/) value = says["CONFIG_VARIANT"] (value == "" ? "" : "; ") value
    if (value == "") fail(FILENAME ": no kind of value in " macro)
    gsub(/\|/, "\\|", value)
    rows = rows "| `" macro "` | " value " |\n"
}

/^    X\(UNIT_/ {
    split($0, cell, /"/)
    sub(/^ *X\(/, "")
    sub(/,.*/, "")
    units = units "| `" $0 "` | " cell[2] " | " cell[4] " |\n"
}

END {
    if (failed) exit 1
    if (rows == "" || about == "" || units == "") fail(FILENAME ": no rows found")
    printf "```text\n%s```\n\n| row | value |\n|---|---|\n%s", about, rows
    printf "\n| `unit` | kept in | for example |\n|---|---|---|\n%s", units
}
