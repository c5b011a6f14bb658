// Package replay has the SQL of a replay: it reads the stored facts of a live schema in
// one snapshot, makes a fresh schema in the same database with the same rules, and reads
// the net amounts of either for the ledger hash.
//
// What belongs here: statements that only read the live schema, and those that make,
// fill with rules and drop the fresh one. What follows from the facts is computed and
// stored by the processor.
package replay
