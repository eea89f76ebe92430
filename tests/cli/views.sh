#!/bin/sh
# The session of README "Tables and views" says what it says there. ACCEPT=1 writes it anew.
. tests/cli/lib.sh

session() {
    awk '/^## / { here = $0 == "## Tables and views" } /^```$/ { inside = 0 } here && inside
        /^```console$/ { inside = 1 }' README.md
}
mkdir "$T/bin" "$T/at"
ln -s "$(realpath "$ORRERY")" "$T/bin/orrery"
ln -s "$PWD/analysis" "$PWD/tests" "$PWD/configs" "$PWD/traces" "$T/at/"
PATH=$T/bin:$PATH
session | sed -n 's/^\$ //p' >"$T/commands"
last='the session of README.md'
[ "$(wc -l <"$T/commands")" -ge 5 ] || complain 'there are too few commands'
while read -r command; do
    printf '$ %s\n' "$command"
    (cd "$T/at" && eval "$command" 2>&1 </dev/null | tr -d '\r')
done <"$T/commands" >"$T/said"
if [ "${ACCEPT:-}" = 1 ]; then
    awk -v said="$T/said" '/^## / { here = $0 == "## Tables and views" }
        here && /^```console$/ { print; while ((getline line < said) > 0) print line; inside = 1; next }
        /^```$/ { inside = 0 } !inside' README.md >"$T/README.md" && cat "$T/README.md" >README.md
fi
session >"$T/written"
diff "$T/written" "$T/said" || complain 'it says something else'
finish
