// Package reconcile brings a store and its replica together.
//
// It has three layers. Plan is a pure function: from what base, the mount and
// the store look like, and the policy, it says what to change in the tree, what
// to send, and what waits. A pass learns what changed in the store, plans, and
// carries the plan out; it decides nothing. The loop runs passes on the sync
// interval, backs off, and runs the final one.
//
// The rules (R4 to R10, R12 to R14) are those of docs/SEMANTICS.md. Three of
// its ideas carry the rest:
//
// Content and path of a memory are reconciled apart. Each of the two is
// unchanged, changed here, changed there, changed to the same on both sides, or
// changed to different values; the table in decide.go gives the step for each
// pair. Base, too, moves on each of the two by itself.
//
// A memory is either sent or changed in the tree by one plan, never both. Where
// both are due, one plan does the first and the next plan, made from what is
// then there, does the second.
//
// What the mount wants is only sent where the store can take it: a path that a
// memory staying in the store occupies or overlaps is the store's, and the
// local side yields.
package reconcile
