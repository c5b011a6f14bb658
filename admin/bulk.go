package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-io/tributary/internal/lenient"
	"github.com/tributary-io/tributary/internal/wire"
)

// ordersPath takes many orders at once; its body is lines.
const ordersPath = "/orders"

// Bounds of POST /orders, beside maxBody.
const (
	maxBulkLines   = 500 // of a request
	maxLineDetails = 20  // rules that are told of one refused line
)

// bulkResult is the data of POST /orders. Accepted + Refused are the lines.
type bulkResult struct {
	Accepted int          `json:"accepted"`
	Refused  int          `json:"refused"`
	Results  []lineResult `json:"results"` // one a line that is not blank, in their order
}

// lineResult is what became of one line. Status is what POST /order answers: 200, or 400 with its error.
type lineResult struct {
	Line     int        `json:"line"` // from 1; blank ones count
	OrderID  string     `json:"orderId,omitempty"`
	Status   int        `json:"status"`
	Warnings []detail   `json:"warnings,omitempty"`
	Error    *errorBody `json:"error,omitempty"`
}

// postOrders is POST /orders: an order a line, as POST /order takes it. All orders of good lines are on Kafka before the
// answer, or none is told to be: then the answer is 503, and the same request may be sent again.
func (s *Server) postOrders(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	body, err := readBody(w, r)
	if err != nil {
		return answer{}, err
	}
	if err := s.takeTurn(r.Context(), s.bulk); err != nil {
		return answer{}, err
	}
	defer func() { <-s.bulk }()
	strict := lenient.Handling(r.Header["Prefer"]...) == lenient.Strict
	result, orders := bulkResult{Results: []lineResult{}}, []takenOrder(nil)
	number := 0
	for line := range bytes.Lines(body) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(result.Results) == maxBulkLines {
			return answer{}, &problem{status: http.StatusRequestEntityTooLarge, code: codePayloadTooLarge,
				message: fmt.Sprintf("the body has more than %d lines; none was taken", maxBulkLines)}
		}
		told, order, err := s.takeLine(c, line, strict)
		if err != nil {
			return answer{}, err
		}
		told.Line = number
		if result.Results = append(result.Results, told); told.Error != nil {
			result.Refused++
			continue
		}
		result.Accepted++
		orders = append(orders, order)
	}
	if len(result.Results) == 0 {
		return answer{}, invalidJSON("the body has no line; one JSON object a line is expected")
	}
	if len(orders) > 0 {
		if err := s.acceptOrders(r.Context(), c, wire.TopicBulk, orders); err != nil {
			return answer{}, err
		}
	}
	return answer{data: result}, nil
}

// takeTurn waits until fewer requests are under way than there are turns: reading hundreds of orders, or all of a person, takes
// long, and orders that are sent alone go before. A turn is given back by a receive from turns.
func (s *Server) takeTurn(ctx context.Context, turns chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.DependencyTimeout)
	defer cancel()
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return &causedProblem{problem: unavailable(), cause: ctx.Err()}
	}
}

// takeLine reads one line. A line that is refused has an error in told.
func (s *Server) takeLine(c caller, line []byte, strict bool) (told lineResult, order takenOrder, err error) {
	o, err := parseObject(line)
	if err == nil {
		o.notes.strict = strict
		order, err = takeOrder(o, s.now(), c.keys, s.signer)
		told.OrderID = order.order.OrderID
	}
	var refused *problem
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusBadRequest:
		told.Status = refused.status
		told.Error = &errorBody{Code: refused.code, Message: refused.message,
			Details: refused.details[:min(len(refused.details), maxLineDetails)]}
		return told, takenOrder{}, nil
	case err != nil:
		return told, takenOrder{}, err
	}
	told.Status, told.Warnings = http.StatusOK, o.notes.warnings
	return told, order, nil
}
