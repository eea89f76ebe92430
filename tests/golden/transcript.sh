#!/bin/sh
# What the program prints for the calls of transcript.txt, or of the file TRANSCRIPT. A line that begins with '$ ' is a
# call; below it stands what it prints on both streams. $T is a directory of the test's own, $PWD the repository.
# To add a call, write its line and run `make accept`.
# Long outputs are cut by head, or stand as a checksum, without the commit of the program. Numbers are cut to eight
# decimals, also before a checksum: releases of SQLite differ in the last digit of a sum. Nor does the platform count.
set -u
orrery=$(realpath "${ORRERY:-build/orrery}")
[ -z "${OPTIMISED:-}" ] || orrery=$(realpath "$OPTIMISED/orrery")
T=${TEST_TMPDIR:-$(mktemp -d)}
here=$(pwd -P)
transcript=${TRANSCRIPT:-tests/golden/transcript.txt}
mkdir -p "$T/bin"
ln -sf "$orrery" "$T/bin/orrery"
alike='s/(\.[0-9]{8})[0-9]+/\1/g; s/Linux [a-z0-9_]+ glibc[a-z0-9. -]*/PLATFORM/g; s/; orrery ([0-9a-f]{7,}(-dirty)?|unknown)"/; orrery COMMIT"/g'
cat >"$T/bin/cksum" <<END
#!/bin/sh
sed -E '$alike' | $(command -v cksum)
END
chmod +x "$T/bin/cksum"
PATH=$T/bin:$PATH
export T PATH
grep '^\$ ' "$transcript" | while IFS= read -r line; do
    printf "%s\n" "$line"
    sh -c "${line#??}" 2>&1 </dev/null | sed -E "s|$T|\\\$T|g; s|$here/|\\\$PWD/|g; $alike"
done >"$T/actual"
if [ "${ACCEPT:-}" = 1 ]; then
    cp "$T/actual" "$transcript"
    exit
fi
diff -u "$transcript" "$T/actual" && exit
echo "$transcript: the output has moved; if that is wanted, say why in the commit and run make accept"
exit 1
