#!/bin/sh
# The packages of 'make dist' hold a program that runs where they are unpacked, with all that 'make install' installs.
# What the Debian package depends on is what its program loads. The linking itself is tried where objects without
# sanitizers are at hand.
. tests/cli/lib.sh

command -v dpkg-deb >/dev/null || skip 'no dpkg-deb'
make_quietly() { env -u MAKEFLAGS -u MFLAGS make -s "$@" >"$T/make" 2>&1 || { complain "make $* failed"; cat "$T/make"; }; }
root=$PWD
program=$ORRERY
if [ -n "$OPTIMISED" ] && [ -f "$OPTIMISED/exports" ]; then
    make_quietly link-static MODE=o3 B="${OPTIMISED#"$root/"}"
    program=$OPTIMISED/static/orrery
    last='make link-static'
    objdump -p "$program" | awk '$1 == "NEEDED" { print $2 }' >"$T/loads"
    for library in sqlite3 gsl gslcblas csv z; do
        ! grep -q "^lib$library\.so" "$T/loads" || complain "it loads lib$library"
    done
fi
last='.ci/dist'
GZIP_LEVEL=-1 DEB_OPTIONS=-Zgzip\ -z1 .ci/dist "$program" "$T/dist" >"$T/said" 2>"$T/err" || { complain 'it failed'; cat "$T/err"; }
version=$("$ORRERY" --version | cut -d' ' -f2)

# The Debian package, unpacked and not installed.
deb=$(echo "$T"/dist/orrery_"$version"_*.deb)
dpkg-deb -x "$deb" "$T/deb" || complain 'dpkg-deb does not unpack it'
dpkg-deb -e "$deb" "$T/control"
(cd "$T/deb" && md5sum --quiet -c "$T/control/md5sums") || complain 'its files have other sums than it says'
wanted=$("$program" run quickstart -q 2>/dev/null | sed -n 's/^result hash //p')
cd "$T" || exit 1
last='the program of the Debian package'
"$T/deb/usr/bin/orrery" run quickstart -q >"$T/out" 2>"$T/err" || { complain 'it fails'; cat "$T/err"; }
equal "$(sed -n 's/^result hash //p' "$T/out")" "$wanted" 'result hash'
last='the control file'
equal "$(dpkg-deb -f "$deb" Package) $(dpkg-deb -f "$deb" Version)" "orrery $version" 'package'
objdump -p "$T/deb/usr/bin/orrery" | awk '$1 == "NEEDED" { print $2 }' >"$T/loads"
paths=$(ldd "$T/deb/usr/bin/orrery" | awk 'NR == FNR { loads[$1]; next } $1 in loads { print $3, "/usr" $3 }' "$T/loads" -)
dpkg-query -S $paths 2>/dev/null | sed 's/:.*//' | sort -u >"$T/wanted"
dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' | sort -u | diff "$T/wanted" - ||
    complain 'it depends on other packages than its program loads'
for file in share/man/man1/orrery.1.gz share/bash-completion/completions/orrery share/zsh/vendor-completions/_orrery \
    share/fish/vendor_completions.d/orrery.fish share/doc/orrery/copyright lib/pkgconfig/orrery.pc; do
    [ -s "$T/deb/usr/$file" ] || complain "no /usr/$file in it"
done

# The archive runs from any folder.
last='the archive'
mkdir "$T/anywhere"
tar -xzf "$T/dist/orrery-$version-linux-$(uname -m).tar.gz" -C "$T/anywhere" || complain 'tar fails'
cd "$T/anywhere"/orrery-* || exit 1
bin/orrery list scenarios >"$T/out" || complain 'its program fails'
out quickstart
if command -v pkg-config >/dev/null; then
    [ -d "$(PKG_CONFIG_PATH=$PWD/lib/pkgconfig pkg-config --variable=includedir orrery)/sim" ] || complain 'no headers for policies'
fi
loads=$(objdump -p bin/orrery | awk '$1 == "NEEDED" { print $2 }' | grep -v '^libc\.\|^libm\.\|^ld-' | sort | tr '\n' ' ')
equal "$(ls lib/orrery 2>/dev/null | sort | tr '\n' ' ')" "$loads" 'libraries that it brings'

# The citation names the version of the program, and keys of its format.
last=.github/CITATION.cff
cd "$root" || exit 1
equal "$(sed -n 's/^version: //p' .github/CITATION.cff)" "$version" version
for key in cff-version message title authors license; do
    grep -q "^$key:" .github/CITATION.cff || complain "it lacks $key"
done
finish
