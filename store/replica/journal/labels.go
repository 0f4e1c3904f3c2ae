package journal

// The labels of the journal's file operations.
const (
	labelRead    = "journal.read"
	labelAppend  = "journal.append"
	labelRepair  = "journal.repair"
	labelExtend  = "journal.extend"
	labelSync    = "journal.sync"
	labelCheck   = "journal.check"
	labelTemp    = "journal.temp"
	labelNew     = "journal.new"
	labelTail    = "journal.tail"
	labelNewSync = "journal.new-sync"
	labelRename  = "journal.rename"
	labelDirSync = "journal.dir-sync"
)
