# What a header of sim/world/policy declares, as a part of a page: awk -f tests/lint/interface.awk FAMILY.h
# In three blocks: the struct of the family with the functions to implement, as FAMILY_FUNCTIONS lists them; the views,
# plans and events; the functions that a policy may call. Comments are the header's. Left out are bodies of functions
# and macros. -v only=NAME: of the structs just that one, and no functions.

# Ends a declaration: adds it to a block, after an empty line where the header has one.
function add(block, lines) {
    blocks[block] = blocks[block] (blocks[block] != "" && spaced ? "\n" : "") lines
    spaced = 0
    kind = text = comment = ""
}

# The members that a list of functions stands for, each with whether it must be there.
function members_of(list,   rows, n, i, part, signature, lines) {
    gsub(/\\/, "", list)
    gsub(/\/\*[^*]*\*\//, "", list)
    gsub(/[ \n]+/, " ", list)
    n = split(list, rows, / X\(/)
    for (i = 2; i <= n; i++) {
        signature = substr(rows[i], index(rows[i], "("))
        sub(/\).*/, ")", signature)
        sub(/ *\(.*/, "", rows[i])
        split(rows[i], part, /, */) # family, need, result, name
        if (!(part[2] in needs)) fail(FILENAME ": " part[4] " is '" part[2] "'")
        lines = lines "    /* " needs[part[2]] " */\n" wrapped("    " part[3] " (*" part[4] ")" signature ";") "\n"
    }
    return lines
}

function wrapped(line,   at) {
    if (length(line) <= 118) return line
    for (at = 118; substr(line, at - 1, 2) != ", "; ) at--
    return substr(line, 1, at - 1) "\n        " substr(line, at + 1)
}

function fail(message) { print message >"/dev/stderr"; failed = 1; exit 1 }

function show(title, block) {
    if (blocks[block] == "") return
    printf "\n%s\n\n```C\n%s```\n", title, blocks[block]
}

BEGIN {
    needs["REQUIRED"] = "required"
    needs["OPTIONAL"] = "optional: may be NULL"
    needs["ONE_OF"] = "at least one of these"
}

# The first sentence of the comment at the top says what the header is about.
FNR == 1 { in_top = 1 }
in_top {
    if (/\*\/$/) in_top = 0
    sub(/^(\/\*| \*) */, "")
    sub(/ *\*\/$/, "")
    if (topic !~ /\.$/) topic = topic (topic == "" ? "" : " ") (match($0, /\. /) ? substr($0, 1, RSTART) : $0)
    next
}

/^$/ && kind == "" { spaced = 1; comment = ""; next }

# A list of functions, up to its last continued line. Other macros and directives go.
/^#define [A-Z_]+_FUNCTIONS\(X\)/ { in_list = 1; about = comment }
in_list { list = list "\n" $0; in_list = /\\$/; next }
/^#/ || in_macro { in_macro = /\\$/; next }

# A comment in the first column belongs to what follows. Headings such as "--- The family ---" go.
/^\/\* ---/ { next }
/^\/\*/ { in_comment = 1; comment = "" }
in_comment { comment = comment $0 "\n"; if (/\*\/$/) in_comment = 0; next }

# A struct that is only announced.
/^struct [a-z_]+;/ { next }

# A struct or an enum; that of the family has the functions.
/^(struct|enum)( [a-z_]+)? \{/ && kind == "" { name = $2; kind = "types"; text = comment; is_family = 0 }
kind == "types" {
    if (/_FUNCTIONS\(POLICY_MEMBER\)/) {
        is_family = 1
        text = about substr(text, length(comment) + 1) members_of(list)
        next
    }
    text = text $0 "\n"
    if (!/^\};|^(struct|enum).*\};/) next
    if (only != "" && only != name) text = comment = kind = ""
    else add(is_family ? "family" : "types", text)
    next
}

# A function, up to its semicolon; of one with a body, what comes before it.
/^[a-z].*\(/ && kind == "" { kind = "calls"; text = comment; is_inline = /^static inline / }
kind == "body" { if (/^\}/) kind = ""; next }
kind == "calls" {
    if (/^\{/) sub(/\n$/, ";\n", text)
    else {
        sub(is_inline ? "^(static inline |              )" : "^$", "")
        text = text $0 "\n"
        if (!/;$/) next
    }
    is_body = /^\{/
    if (only == "") add("calls", text)
    kind = is_body ? "body" : ""
}

END {
    if (failed) exit 1
    if (blocks["family"] blocks["types"] blocks["calls"] == "") fail(FILENAME ": nothing found")
    if (only == "") printf "`#include \"%s\"`\n\n%s\n", FILENAME, topic
    show("To implement and to set:", "family")
    show(only != "" ? "Members:" : "What it sees and fills in:", "types")
    show("What it may call:", "calls")
}
