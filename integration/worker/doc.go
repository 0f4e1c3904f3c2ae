// Package worker tests memfs worker as its users run it: the real program
// polls the embedded store over HTTP, serves sessions whose agents are scripts,
// and is asked what the tools answered, what reached the store, and what was
// left on the host.
//
// Of the kinds of faults that users of such filesystems report, these are played
// through the worker; the others are tested on mounts alone:
//
//	saves of editors and tools             TestParity (editors, files, shell), TestR4_TwentyEditsInTwentyIntervals
//	renames, and their histories           TestParity (rename), TestStory
//	files and directories changing places  TestParity_Differences
//	names and sizes the store cannot hold  TestParity_Differences, TestParity (limits)
//	links                                  TestParity_Differences
//	a kill, and a stale mount after it     TestR16_KillEverything, TestR16_KillASession, TestFUSEOffAfterAKill
//	an unmount by somebody else            TestR15_ForeignUmountEndsTheSession
//	an unmount of what is in use           TestLeftoversAreKilled, TestSessionsDoNotHoldEachOthersMounts
//	an agent that starts before the mount  TestCase_ReadyMeansMounted
//	a stop during the start                TestCase_StopDuringStart
//	secrets in logs and elsewhere          TestCase_SecretsOnCommandLines, TestR19_Canary
//	other users of the host                TestR18_ToolsHaveNoPrivileges, TestR18_SessionsWorkApart
//	writes to a read-only store            TestCase_ReadOnlyStore, TestParity (read-only)
//	a process that uses its own mount      every test: tools run in a process of their own
package worker
