package commerce

import "time"

// ExportKinds are the kinds of rows that are exported to files.
var ExportKinds = []string{"events", "orders", "credits", "ledger", "statements"}

// PersonalExports are those of ExportKinds whose files can name a person, by digests.
var PersonalExports = []string{"events", "orders"}

// Export is what is exported: a kind of a company's rows to a directory.
type Export struct {
	CompanyID string
	ExportID  string // UUID of the directory
	Kind      string // one of ExportKinds
	Format    string // "parquet" or "csv"
	Place     string // the machine and the directory, for people
	Run       int64  // of BeginExport: which run this is, from 1
	Former    string // likewise: the place of the run before where it was another, else empty
	Whole     bool   // likewise: it compares every day. Other runs end no erasure
	BegunAt   time.Time
	DoneAt    time.Time // when a run came to its end last; zero: none did
	Days      int64     // files
	Rows      int64
	Bytes     int64
	Erasures  int64 // that wait for it
}

// ExportedDay is a day of an export: one file.
type ExportedDay struct {
	Digest   []byte // of what it was made of; nil: it is being written
	Rows     int64
	Bytes    int64 // of the file
	Modified int64 // when the file was written by the clock of its file system, nanoseconds since 1970
}
