// Package transfer copies whole stores into plain directories and back, byte
// for byte. What is the same on both sides is left alone, so that a copy which
// was cut off goes on where it stopped.
package transfer
