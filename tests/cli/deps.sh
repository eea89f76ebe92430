#!/bin/sh
# .ci/deps names what is missing: for apt-get where there is one, else for the package managers of other systems. The
# compiler and the package managers are stand-ins in a PATH of the test's own.
. tests/cli/lib.sh

mkdir "$T/bin"
for tool in sh awk cat mkdir tail; do ln -s "$(command -v $tool)" "$T/bin/$tool"; done
stand_in() { # NAME, its script on standard input
    { echo '#!/bin/sh'; cat; } >"$T/bin/$1"
    chmod +x "$T/bin/$1"
}
# A compiler that finds no header of the names in $NO_HEADER.
stand_in gcc <<'END'
[ "$1" = --version ] && exit 0
source=$(cat)
for header in $NO_HEADER; do
    case $source in *"<$header>"*) exit 1 ;; esac
done
exit 0
END
echo 'echo "${USER_ID:-1000}"' | stand_in id
deps() { # STATUS NO_HEADER [USER_ID]
    last=".ci/deps without: $2"
    (cd "$T" && PATH=$T/bin NO_HEADER=$2 USER_ID=${3:-} CC=${compiler:-gcc} "$root/.ci/deps") >"$T/out" 2>"$T/err"
    equal $? "$1" status
}
root=$PWD

# The program sqlite3 is missing, and one library that Arch has only in the AUR.
deps 1 'csv.h'
err_is <<'END'
missing: libcsv-dev sqlite3
Orrery is built and tested on Debian 12 and 13. Elsewhere these commands are untested:
  Fedora:   sudo dnf install libcsv-devel sqlite
  Arch:     sudo pacman -S sqlite; from the AUR: libcsv
  Homebrew: brew install libcsv sqlite
END
echo exit 0 | stand_in sqlite3
deps 0 ''
[ ! -s "$T/err" ] || complain 'it complains of nothing'

# A compiler of several words.
echo 'exec "$@"' | stand_in ccache
compiler='ccache gcc' deps 0 ''

# Every package that a probe names has a name elsewhere.
headers=$(sed -n 's/^probe [^ ]* \([^ ]*\) .*/\1/p' .ci/deps)
deps 1 "$(echo $headers)"
equal "$(sed -n 's/^  Fedora: *//p; s/^  Homebrew: *//p' "$T/err" | wc -w)" $((3 + 2 + 2 * $(echo "$headers" | wc -l))) names

# With apt-get: the command to type, or root's installation.
echo 'echo "apt-get $*" >>calls' | stand_in apt-get
deps 1 'glpk.h gsl/gsl_rng.h'
err_is <<'END'
missing: libgsl-dev libglpk-dev
install with: sudo apt-get install libgsl-dev libglpk-dev
END
[ ! -e "$T/calls" ] || complain 'a user who is not root installs'
deps 0 'glpk.h' 0
out 'installing: libglpk-dev'
grep -q 'install .* libglpk-dev$' "$T/calls" || complain 'root installs nothing'

# Without a compiler.
rm "$T/bin/gcc" "$T/bin/apt-get"
deps 1 ''
err "no C compiler 'gcc'"
err 'Fedora:   sudo dnf install gcc make'
finish
