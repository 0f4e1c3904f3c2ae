//go:build linux && race

package soak

// raceFlags build the program as the test is built.
var raceFlags = []string{"-race"}
