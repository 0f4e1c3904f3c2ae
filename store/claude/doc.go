// Package claude implements store.Client over the official Go SDK for the
// Claude API's memory stores.
//
// Every method of a store.Client or store.Reader sends exactly one request:
// whether and when to try again is decided by the caller, who knows what the
// change was, not by the SDK. (One exception: after a write is refused with a
// 400, the store itself is read once to tell an archived store from refused
// content.) Answers are bounded in size and checked against the API's
// contract before anything believes them; the SDK's debug log is never used,
// since it prints contents.
//
// The API is in beta. What is relied on here: one anthropic-beta value on
// memory calls, errors told apart by status and error.type, SHA-256 over the
// content's exact bytes.
package claude
