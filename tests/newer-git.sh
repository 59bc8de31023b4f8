#!/usr/bin/env bash
# Unpack a newer git beside the installed one, from Debian's packages, and touch nothing else of the machine.
#
#   get.sh FOLDER [SUITE]      SUITE: the Debian suite whose git is wanted (trixie: 2.47; sid: the newest)
#
# Afterwards FOLDER/bin/git is that git, and FOLDER/reftable/git is the same one, which makes every repository
# with reftables. Put either folder first on PATH. Needs apt on a Debian of any age, and no root. The packages come
# from the mirror that the machine's own apt uses, or from $DEBIAN_MIRROR.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd) suite=${2:-trixie}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' | grep -m 1 '/debian/$')}
state=$folder/apt root=$folder/root
rm -rf "$state" "$root"

# An apt of its own: its own list of sources, and a machine on which nothing is installed yet.
mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$root"
: >"$state/status"
echo "deb [signed-by=$keys] $mirror $suite main" >"$state/sources.list"
apt=(apt-get -qq -o "Dir::Etc::sourcelist=$state/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State=$state" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
    -o "APT::Sandbox::User=$(id -un)" -o APT::Install-Recommends=false)
"${apt[@]}" update
"${apt[@]}" install --yes --download-only git patchelf

for package in "$state"/cache/archives/*.deb; do
    case ${package##*/} in perl* | libperl* | liberror-perl* | git-man*) continue ;; esac
    dpkg-deb --extract "$package" "$root"
done
rm -rf "$state" "$root/usr/share"

# Its programs run under their own C library, whatever the machine's is; what they start (ssh, sh, hooks) does not.
core=$root/usr/lib/git-core
ld=$(find "$root/usr/lib" -name 'ld-linux*.so.*' -type f | head -n 1)
libs=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' | head -n 1)")
find "$root/usr/bin/git" "$core" -type f -perm -u+x | while read -r program; do
    [ "$(head -c 4 "$program" | tr -d '\0')" = $'\x7fELF' ] || continue
    "$ld" --library-path "$libs" "$root/usr/bin/patchelf" \
        --set-interpreter "$ld" --force-rpath --set-rpath "$libs" "$program"
done

# GIT_EXEC_PATH, or else it would start the machine's own helpers.
command_in() { # folder below $folder, and what else to put before the command
    mkdir -p "$folder/$1"
    printf '#!/bin/sh\nexport GIT_EXEC_PATH=%q\n%sexec %q "$@"\n' "$core" "$2" "$root/usr/bin/git" >"$folder/$1/git"
    chmod +x "$folder/$1/git"
}
command_in bin ''
command_in reftable $'export GIT_DEFAULT_REF_FORMAT="${GIT_DEFAULT_REF_FORMAT:-reftable}"\n'
"$folder/bin/git" version
