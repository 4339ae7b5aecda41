#!/bin/sh
# Proves that the import rules are alive: forbidden imports are added to a copy
# of this module, and the linter must name each. A linter that finds no settings,
# or whose patterns match no file, would pass everything.
set -eu
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
tar -cf - --exclude=.git --exclude=./bin --exclude=./.poolwise --exclude=./benchmarks . | tar -xf - -C "$copy"
cd "$copy"

ours=github.com/poolwise/poolwise
# A folder and what it may not import, a line each. Those imported are leaves
# or far above, so that no cycle comes about: it would fail for another reason.
forbidden="
internal/batch $ours/internal/guardian
internal/jsontext $ours/internal/guardian
internal/wire $ours/internal/guardian
plan $ours/internal/batch
internal/source $ours/internal/guardian
internal/journal $ours/internal/guardian
internal/sink $ours/internal/guardian
internal/ui $ours/internal/guardian
internal/machine $ours/internal/guardian
internal/supervisor $ours/workers/python
internal/command $ours/workers/python
internal/engine $ours/workers/python
internal/engine github.com/spf13/cobra
internal/workertest $ours/internal/guardian
cmd/poolwise $ours/internal/engine
"
echo "$forbidden" | {
	n=0 folders=
	while read -r folder import; do
		[ -n "$folder" ] || continue
		n=$((n + 1)) folders="$folders ./$folder"
		printf 'package %s\n\nimport _ "%s"\n' "$(go list -f '{{.Name}}' "./$folder")" "$import" >"$folder/zz_forbidden_$n.go"
	done
	# shellcheck disable=SC2086 # a list of folders
	go tool -modfile=tools/go.mod depguard $folders >said 2>&1 || true
}

missed=0
echo "$forbidden" | {
	while read -r folder import; do
		[ -n "$folder" ] || continue
		if grep -q "/$folder/zz_forbidden_.*'$import' is not allowed" said; then
			echo "refused: $folder importing $import"
		else
			echo "NOT REFUSED: $folder importing $import" >&2
			missed=1
		fi
	done
	[ $missed = 0 ] || { cat said >&2; exit 1; }
}
# Nothing else may have been refused: it would hide what the rules let through.
if grep -v zz_forbidden_ said; then
	echo "lint-proof: the linter said more than it was to" >&2
	exit 1
fi
