package core

// AppendCanonical parses a body as ParseBatch does and appends the result as
// JSON, for callers that cannot hold Go values: the browser's worker and, later,
// Node. Items are in order. An event is a string, so that JavaScript passes its
// bytes on without parsing them:
//
//	{"items":[{"eventId":"…","event":"{…}"},{"eventId":"…","code":"…","field":"…","message":"…"}]}
//
// or, when the whole body is refused, {"code":"…","field":"…","message":"…"}.
func AppendCanonical(dst []byte, body, companyID string, o Options) []byte {
	b, v := ParseBatch(body, companyID, o)
	if v != nil {
		out := object{dst: append(dst, '{')}
		out.violation(v)
		return append(out.dst, '}')
	}
	var event []byte
	dst = append(dst, `{"items":[`...)
	for i := range b.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		item := &b.Items[i]
		out := object{dst: append(dst, '{')}
		out.text("eventId", item.Event.ID)
		if item.Err != nil {
			out.violation(item.Err)
		} else {
			event = AppendEvent(event[:0], &item.Event)
			out.text("event", string(event))
		}
		dst = append(out.dst, '}')
	}
	return append(dst, ']', '}')
}

func (o *object) violation(v *Violation) {
	o.text("code", string(v.Code))
	o.text("field", v.Field)
	o.text("message", v.Message)
}
