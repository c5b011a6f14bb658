package merchant

// NamesOfActors is for a test of how PostgreSQL runs it.
const NamesOfActors = namesOfActors
