// Package guard bounds what anybody on the internet can hold of the edge: connections, the
// memory of bodies while they arrive, and what a body inflates to. It also says who a client
// is. It knows no event and no company.
package guard
