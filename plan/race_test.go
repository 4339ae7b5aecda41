//go:build race

package plan_test

const raced = true // the race detector is on
