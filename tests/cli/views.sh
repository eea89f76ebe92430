#!/bin/sh
# The session of the page on views prints what stands there. ACCEPT=1 writes it anew.
. tests/cli/lib.sh

page=analysis/sql/README.md
session() {
    awk '/^## / { here = $0 == "## A session" } /^```$/ { inside = 0 } here && inside
        /^```console$/ { inside = 1 }' $page
}
mkdir "$T/bin" "$T/at"
ln -s "$(realpath "$ORRERY")" "$T/bin/orrery"
ln -s "$PWD/analysis" "$PWD/tests" "$PWD/configs" "$PWD/traces" "$T/at/"
PATH=$T/bin:$PATH
session | sed -n 's/^\$ //p' >"$T/commands"
last="the session of $page"
[ "$(wc -l <"$T/commands")" -ge 5 ] || complain 'there are too few commands'
while read -r command; do
    printf '$ %s\n' "$command"
    (cd "$T/at" && eval "$command" 2>&1 </dev/null | tr -d '\r')
done <"$T/commands" >"$T/said"
if [ "${ACCEPT:-}" = 1 ]; then
    awk -v said="$T/said" '/^## / { here = $0 == "## A session" }
        here && /^```console$/ { print; while ((getline line < said) > 0) print line; inside = 1; next }
        /^```$/ { inside = 0 } !inside' $page >"$T/page" && cat "$T/page" >$page
fi
session >"$T/written"
diff "$T/written" "$T/said" || complain 'it says something else'
finish
