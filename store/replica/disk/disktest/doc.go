// Package disktest is for tests of what stands on package disk: it fails,
// counts and cuts off labelled operations, and builds the directories that
// power loss can leave.
package disktest
