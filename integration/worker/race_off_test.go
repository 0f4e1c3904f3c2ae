//go:build !race

package worker_test

// The program is looked at for races where the tests are.
const raceFlag = "-race=false"
