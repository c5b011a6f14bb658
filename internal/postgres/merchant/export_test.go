package merchant

// NamesOfActors is for a test of how PostgreSQL runs it.
const NamesOfActors = namesOfActors

// PruneCompany is for a test that cannot write commerce.MaxKept messages.
var PruneCompany = (*Store).pruneCompany

// ReplayReserving is for a test that has more time than a request.
var ReplayReserving = (*Store).replayReserving
