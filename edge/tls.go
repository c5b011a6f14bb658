package edge

import (
	"crypto/tls"
	"net"

	"github.com/valyala/fasthttp"

	"github.com/tributary-io/tributary/internal/certificate"
)

var (
	headerStrict = []byte("Strict-Transport-Security")
	strictYear   = []byte(certificate.Strict)
)

// secured is the listener with TLS of its own, if the edge has any.
func (s *Server) secured(listener net.Listener) net.Listener {
	if s.config.TLS == nil {
		return listener
	}
	return tls.NewListener(listener, s.config.TLS)
}

// setStrict is for every answer over TLS of its own; a proxy that ends TLS before
// the edge says it itself.
func (s *Server) setStrict(ctx *fasthttp.RequestCtx) {
	if s.config.TLS != nil {
		setHeader(ctx, headerStrict, strictYear)
	}
}
