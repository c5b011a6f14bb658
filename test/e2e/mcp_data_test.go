package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tributary-io/tributary/test/await"
)

// instruction is a text that carries instructions, with a mark of its own.
type instruction struct{ text, mark string }

func instructionsOf(t *testing.T) (list []instruction) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("testdata", "instructions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(file) {
		var text string
		if err := json.Unmarshal(line, &text); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		mark := fmt.Sprintf("(t%03d)", len(list))
		list = append(list, instruction{text + " " + mark, mark})
	}
	if len(list) != 100 {
		t.Fatalf("%d texts", len(list))
	}
	return list
}

var marks = regexp.MustCompile(`\(t\d{3}\)`)

// plant fills the store with the texts: influencers, campaigns, orders, UTMs and products. It
// returns how many names the admin refused: those with control characters, or marks that turn the text.
func plant(t *testing.T, d *dev, texts []instruction) (refused int) {
	t.Helper()
	at := time.Now().AddDate(0, 0, -40).UTC()
	var orders strings.Builder
	for i, p := range texts {
		register := func(name string) bool {
			var got answer
			await.Until(t, await.Long, func() (sent bool) {
				var err error
				got, err = call(t.Context(), http.MethodPost, d.AdminURL+"/influencers", d.APIKey, map[string]any{
					"name": name, "campaign": name, "category": name, "coupon_only": true, "links": []any{},
					"coupons": []any{map[string]any{"cupom": fmt.Sprintf("PLANT%03d", i)}},
					"costs":   []any{map[string]any{"var_fee": 10, "start_date": "2026-01-01", "is_coupon_cost": true}}})
				return err == nil && got.status != http.StatusTooManyRequests
			}, func() string { return string(got.body) })
			if got.status != http.StatusOK && got.status != http.StatusBadRequest {
				t.Fatalf("%q: %d %s", name, got.status, got.body)
			}
			return got.status == http.StatusOK
		}
		if !register(p.text) {
			if refused++; !register("Influencer " + p.mark) {
				t.Fatalf("no influencer %d", i)
			}
		}
		day := at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		order, err := json.Marshal(map[string]any{"orderId": "o-" + strconv.Itoa(i), "name": p.text, "orderStatus": 0, "createdAt": day,
			"updatedAt": day, "deliveredAt": day, "totalPrice": 200, "currency": "BRL", "discountCode": fmt.Sprintf("PLANT%03d", i),
			"utmSource": p.text,
			"utmMedium": p.text, "utmCampaign": p.text, "utmContent": p.text, "utmTerm": p.text,
			"customer": map[string]any{"customerId": "c-" + strconv.Itoa(i), "email": fmt.Sprintf("shopper%d@example.com", i)},
			"items":    []any{map[string]any{"item_id": "v-" + strconv.Itoa(i), "productId": "p-" + strconv.Itoa(i), "quantity": 1, "price": 200}}})
		if err != nil {
			t.Fatal(err)
		}
		orders.Write(append(order, '\n'))
		product := map[string]any{"productId": "p-" + strconv.Itoa(i), "productName": p.text, "status": 1, "variants": []any{
			map[string]any{"variantId": "v-" + strconv.Itoa(i), "title": p.text, "sku": p.text, "price": 200, "currency": "BRL"}}}
		got, err := call(t.Context(), http.MethodPost, d.AdminURL+"/product", d.APIKey, product)
		if err != nil || got.status != http.StatusOK && got.status != http.StatusBadRequest {
			t.Fatalf("%q: %d %s %v", p.text, got.status, got.body, err)
		}
		if got.status == http.StatusBadRequest {
			refused++
			product["productName"] = "Product " + p.mark
			mustCall(t, http.MethodPost, d.AdminURL+"/product", d.APIKey, product, nil)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.AdminURL+"/orders", strings.NewReader(orders.String()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	request.Header.Set("Authorization", "Bearer "+d.APIKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK ||
		bytes.Count(body, []byte(`"status":200`)) != len(texts) {
		t.Fatalf("orders: %d %s %v", response.StatusCode, body, err)
	}
	var paid int
	await.Until(t, await.Long, func() bool {
		d.query(t, []any{&paid}, `select count(*) from payout where company_id = $1 and state = 'earned'`, d.CompanyID)
		return paid == len(texts)
	}, func() string { return fmt.Sprintf("%d of %d orders are paid", paid, len(texts)) })
	mustCall(t, http.MethodPost, d.AdminURL+"/statements", d.APIKey,
		map[string]any{"end_date": time.Now().AddDate(0, 0, -2).Format(time.DateOnly)}, nil)
	var closed int
	await.Until(t, await.Long, func() bool {
		d.query(t, []any{&closed}, `select count(*) from statement where company_id = $1 and closed_at is not null`, d.CompanyID)
		return closed == len(texts)
	}, func() string { return fmt.Sprintf("%d of %d statements are closed", closed, len(texts)) })
	return refused
}

// wireLog keeps what the SDK's client read, a line each.
type wireLog struct{ await.Buffer }

// read are the lines that the binary wrote.
func (l *wireLog) read() (lines []string) {
	for line := range strings.Lines(l.String()) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "read: "); found && strings.HasPrefix(text, "{") {
			lines = append(lines, text)
		}
	}
	return lines
}

// A hundred texts that carry instructions, in all that others name, are read by every tool through the SDK's client: they are in
// string values of structured content, as they were written, and nowhere else.
func TestInstructionsInNamesAreData(t *testing.T) {
	d := newShop(t)
	texts := instructionsOf(t)
	refused := plant(t, d, texts)
	t.Logf("the admin refused %d names of influencers and products", refused)

	var log wireLog
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.LoggingTransport{Writer: &log,
		Transport: &mcp.CommandTransport{Command: mcpCommand(t, d, d.newKey(t, "assistant.read"))}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	listed := func() []byte {
		t.Helper()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(list.Tools)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := listed()
	if marks.Match(before) {
		t.Error("the list of tools has a planted text")
	}

	seen := map[string]map[string]bool{} // by tool: the marks in its answers
	whole := map[string]bool{}           // texts that were given as they are
	var statementIDs []string
	ask := func(tool string, arguments map[string]any) map[string]any {
		t.Helper()
		var result *mcp.CallToolResult
		var text *mcp.TextContent
		await.Until(t, await.Long, func() bool { // on a busy machine the admin may need another attempt
			var err error
			if result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments}); err != nil {
				t.Fatalf("%s %v: %v", tool, arguments, err)
			}
			text, _ = result.Content[0].(*mcp.TextContent)
			return !result.IsError || !strings.Contains(text.Text, "try again")
		}, func() string { return tool + ": " + text.Text })
		if result.IsError {
			t.Fatalf("%s %v: %s", tool, arguments, text.Text)
		}
		content, _ := result.StructuredContent.(map[string]any)
		var same any
		if len(result.Content) != 1 || json.Unmarshal([]byte(text.Text), &same) != nil || !reflect.DeepEqual(same, result.StructuredContent) ||
			len(text.Text) > 32<<10 {
			t.Fatalf("%s %v: the text of %d bytes is not the structured content", tool, arguments, len(text.Text))
		}
		if seen[tool] == nil {
			seen[tool] = map[string]bool{}
		}
		everyText(content, func(value string) {
			whole[value] = true
			for _, mark := range marks.FindAllString(value, -1) {
				seen[tool][mark] = true
			}
			for _, r := range value {
				if !unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
					t.Errorf("%s gives a character that nobody sees, %U, in %q", tool, r, value)
				}
			}
			if strings.Contains(value, "shopper") || strings.Contains(value, "trb_") {
				t.Errorf("%s gives %q", tool, value)
			}
		})
		return content
	}
	pages := func(tool string, arguments map[string]any) (rows int) {
		t.Helper()
		for {
			content := ask(tool, arguments)
			list, _ := content["rows"].([]any)
			rows += len(list)
			for _, row := range list {
				if id, ok := row.(map[string]any)["id"].(string); ok && tool == "statements" {
					statementIDs = append(statementIDs, id)
				}
			}
			more, _ := content["more"].(map[string]any)
			if more == nil {
				return rows
			}
			if n, _ := more["rows"].(float64); n == 0 || content["narrow"] == nil {
				t.Errorf("%s: more %v, narrow %v", tool, more, content["narrow"])
			}
			arguments["cursor"] = more["next_cursor"]
		}
	}
	span := func(more map[string]any) map[string]any {
		arguments := map[string]any{"start_date": time.Now().AddDate(0, 0, -60).Format(time.DateOnly),
			"end_date": time.Now().Format(time.DateOnly)}
		for name, value := range more {
			arguments[name] = value
		}
		return arguments
	}
	for _, tool := range []string{"find_influencers", "payouts", "ledger", "statements", "products", "find_orders"} {
		if rows := pages(tool, map[string]any{"limit": 40}); rows != 100 {
			t.Errorf("%s gives %d rows", tool, rows)
		}
	}
	for _, name := range []string{"sales", "influencers", "coupons", "channels", "products", "funnel", "paths", "costs", "delivery",
		"sources"} {
		pages("report", span(map[string]any{"name": name, "compare": "previous", "by": "month", "limit": 100}))
	}
	for i, p := range texts[:30] {
		ask("explain_order", map[string]any{"order_id": "o-" + strconv.Itoa(i)})
		if content := ask("find_orders", map[string]any{"text": "O-" + strconv.Itoa(i)}); len(content["rows"].([]any)) != 1 {
			t.Errorf("order %d: %v", i, content)
		}
		if content := ask("find_influencers", map[string]any{"name": strings.ToUpper(p.mark)}); len(content["rows"].([]any)) != 1 {
			t.Errorf("influencer %s: %v", p.mark, content)
		}
		ask("statement", map[string]any{"statement_id": statementIDs[i]})
	}
	ask("signs", span(nil))
	ask("store", nil)
	if after := listed(); !bytes.Equal(before, after) {
		t.Errorf("the list of tools was\n%s\nand is\n%s", before, after)
	}
	// A text that an assistant gives as an argument comes back in no error.
	for _, p := range texts[:20] {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "explain_order", Arguments: map[string]any{"order_id": p.text}})
		if err != nil || !result.IsError {
			t.Errorf("%q: %v, %v", p.text, result, err)
		}
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}

	for tool, want := range map[string]int{"find_influencers": 100, "payouts": 100, "ledger": 100, "statements": 100, "products": 100,
		"find_orders": 100, "report": 100, "explain_order": 30} {
		if len(seen[tool]) < want {
			t.Errorf("%s gave %d of the texts, want %d", tool, len(seen[tool]), want)
		}
	}
	asWritten := 0
	for _, p := range texts {
		if whole[p.text] {
			asWritten++
		}
	}
	if asWritten < 80 { // the others have characters that nobody sees
		t.Errorf("only %d texts came as they were written", asWritten)
	}
	lines := log.read()
	for _, line := range lines {
		if rest := withoutContent(t, line); marks.MatchString(rest) || strings.Contains(strings.ToLower(rest), "ignore previous") {
			t.Errorf("a planted text outside of structured content: %.2000s", rest)
		}
	}
	if len(lines) < 150 {
		t.Errorf("only %d lines were looked at", len(lines))
	}
}

// everyText calls f with each string value.
func everyText(value any, f func(string)) {
	switch value := value.(type) {
	case string:
		f(value)
	case []any:
		for _, element := range value {
			everyText(element, f)
		}
	case map[string]any:
		for _, element := range value {
			everyText(element, f)
		}
	}
}

// withoutContent is a line without its structured content, and without the string values of the text that repeats it. Names of fields stay.
func withoutContent(t *testing.T, line string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		t.Fatalf("%v: %.300s", err, line)
	}
	result, _ := m["result"].(map[string]any)
	if result == nil || result["structuredContent"] == nil {
		return line
	}
	result["structuredContent"] = withoutTexts(result["structuredContent"])
	for _, element := range result["content"].([]any) {
		block, _ := element.(map[string]any)
		var value any
		if err := json.Unmarshal([]byte(fmt.Sprint(block["text"])), &value); err != nil {
			t.Fatalf("%v: %.300s", err, block["text"])
		}
		block["text"] = withoutTexts(value)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func withoutTexts(value any) any {
	switch value := value.(type) {
	case string:
		return ""
	case []any:
		for i, element := range value {
			value[i] = withoutTexts(element)
		}
	case map[string]any:
		for name, element := range value {
			value[name] = withoutTexts(element)
		}
	}
	return value
}
