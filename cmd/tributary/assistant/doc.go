// Package assistant lets an assistant read a store: a server of the Model Context Protocol (MCP) over
// standard input and output that is a client of the admin API, and of nothing else.
//
// Whoever names an influencer, a campaign, a product or a link writes texts that an assistant reads, and may
// write instructions there. So texts of a store's data are in string values of structured answers alone, never
// in the list of tools or in an error, and without characters that hide something (clean). What an answer may
// have is said by its shape, which is its output schema too: a field that a shape does not name is left out.
//
// What may enter: requests that read. Nothing here writes, and keys that can do more are refused.
package assistant
