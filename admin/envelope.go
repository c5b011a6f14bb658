package admin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// envelope is the body of every answer.
type envelope struct {
	Success    bool        `json:"success"`
	Data       any         `json:"data,omitempty"`
	Warnings   []detail    `json:"warnings,omitempty"`
	Error      *errorBody  `json:"error,omitempty"`
	Pagination *pagination `json:"pagination,omitempty"`
	RequestID  string      `json:"request_id"`
	Timestamp  string      `json:"timestamp"`
}

type errorBody struct {
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Details []detail `json:"details,omitempty"`
}

// detail is one violated rule, or one warning. Field is a JSON path into the body, or the name of a query parameter.
type detail struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
	near    string // the known field that was probably meant

	// The other coupon, where Code is coupon_period_conflict; of name_taken the influencer alone. An empty date is unbounded.
	Influencer string  `json:"influencer,omitempty"`
	StartDate  *string `json:"start_date,omitempty"`
	EndDate    *string `json:"end_date,omitempty"`
}

type pagination struct {
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

// outcomes is the data of DELETE operations: one entry for each thing that was named.
type outcomes struct {
	Message string    `json:"message"`
	Data    []outcome `json:"data"`
}

type outcome struct {
	Message string `json:"message"`
	Status  int    `json:"status"`
}

// answer is the result of an operation that succeeded. Its zero value has no data.
type answer struct {
	data       any
	warnings   []detail // what of the body counts as absent, or was not read; at most maxWarnings
	pagination *pagination
	kept       any    // what is kept of it under an Idempotency-Key; nil: data
	tagged     any    // what its ETag covers; nil: data
	csv        []byte // sent instead of the envelope, where it is not nil
}

// timestampFormat is the API's only one: UTC, whole seconds.
const timestampFormat = "2006-01-02T15:04:05Z"

func (s *Server) writeAnswer(w http.ResponseWriter, r *http.Request, a answer) {
	if a.csv != nil {
		s.writeCSV(w, r, a)
		return
	}
	s.writeEnvelope(w, r, http.StatusOK, envelope{Success: true, Data: a.data, Warnings: a.warnings, Pagination: a.pagination})
}

// writeCSV sends a table. It has no envelope: the request id and the cursor of the next
// page are headers.
func (s *Server) writeCSV(w http.ResponseWriter, r *http.Request, a answer) {
	header := w.Header()
	header.Set("Content-Type", csvMedia)
	header.Set("Content-Length", strconv.Itoa(len(a.csv)))
	if a.pagination != nil && a.pagination.NextCursor != nil {
		header.Set("Next-Cursor", *a.pagination.NextCursor)
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.csv) // an error says that the client hung up
	}
}

func (s *Server) writeProblem(w http.ResponseWriter, r *http.Request, p *problem) {
	for name, values := range p.header {
		w.Header()[name] = values
	}
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((p.retryAfter+time.Second-1)/time.Second)))
	}
	s.writeEnvelope(w, r, p.status, envelope{Data: p.data, Error: &errorBody{Code: p.code, Message: p.message, Details: p.details}})
}

func (s *Server) writeEnvelope(w http.ResponseWriter, r *http.Request, status int, e envelope) {
	e.RequestID = requestOf(r).id
	e.Timestamp = s.now().UTC().Format(timestampFormat)
	body, err := json.Marshal(e)
	if err != nil {
		s.log.ErrorContext(r.Context(), "an answer could not be encoded", "request_id", e.RequestID, "error", err)
		status = http.StatusInternalServerError
		body, _ = json.Marshal(envelope{Error: &errorBody{Code: codeInternal, Message: messageInternal}, RequestID: e.RequestID,
			Timestamp: e.Timestamp})
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	if header.Get("ETag") == "" || status != http.StatusOK {
		header.Set("Cache-Control", "no-store")
	}
	header.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(body, '\n')) // an error says that the client hung up
	}
}
