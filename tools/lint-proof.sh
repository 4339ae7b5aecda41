#!/bin/sh
# Proves that the import rules are alive: in a copy of this module, each
# forbidden import is added in turn, and the linter must name it. A linter that
# finds no settings, or whose patterns match no file, would pass everything.
set -eu
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -cf - --exclude=.git --exclude=./bin --exclude=./.poolwise --exclude=./benchmarks . | tar -xf - -C "$copy"
cd "$copy"

depguard="go tool -modfile=tools/go.mod depguard"
ours=github.com/poolwise/poolwise

$depguard ./... || { echo "lint-proof: the imports are wrong before anything was added" >&2; exit 1; }

# forbid FOLDER IMPORT: no cycles, which would fail for another reason.
forbid() {
	file=$1/zz_forbidden.go
	package=$(go list -f '{{.Name}}' "./$1")
	printf 'package %s\n\nimport _ "%s"\n' "$package" "$2" >"$file"
	if said=$($depguard "./$1" 2>&1); then
		echo "lint-proof: $1 may import $2" >&2
		exit 1
	fi
	case $said in
	*zz_forbidden.go*"'$2' is not allowed"*) echo "refused: $1 importing $2" ;;
	*) echo "lint-proof: $1 importing $2 failed for another reason: $said" >&2; exit 1 ;;
	esac
	rm "$file"
}

forbid internal/batch $ours/internal/jsontext
forbid internal/jsontext $ours/internal/machine
forbid internal/wire $ours/internal/machine
forbid plan $ours/internal/batch
forbid internal/source $ours/internal/journal
forbid internal/journal $ours/internal/wire
forbid internal/ui $ours/plan
forbid internal/machine $ours/plan
forbid internal/sink $ours/internal/source
forbid internal/supervisor $ours/internal/journal
forbid internal/command $ours/internal/machine
forbid internal/engine $ours/internal/source
forbid internal/workertest $ours/internal/cli
forbid cmd/poolwise $ours/internal/engine
forbid internal/engine github.com/spf13/cobra
echo "lint-proof: every forbidden import was refused"
