package graphql

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const schema = `
type QueryRoot { shop: Shop!, orders(first: Int, after: String, sortKey: SortKeys): OrderConnection!, thing: Thing, boom: String }
type Mutation { make(input: MakeInput!): Shop }
type Shop { name: String!, order(id: ID!): Order }
type OrderConnection { nodes: [Order!]! }
type Order { id: ID!, total: Money! }
type Money { amount: String! }
interface Thing { id: ID! }
type Big implements Thing { id: ID!, size: Int }
type Small implements Thing { id: ID!, grams: Int }
input MakeInput { name: String!, inner: InnerInput }
input InnerInput { a: Int }
enum SortKeys { ID UPDATED_AT }
`

func parsed(t *testing.T) *Schema {
	t.Helper()
	s, err := ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestQueriesAreChecked(t *testing.T) {
	s := parsed(t)
	for query, want := range map[string]string{
		`{ shop { name } }`:                          "",
		`{ shop { nome } }`:                          "Field 'nome' doesn't exist on type 'Shop'",
		`{ shop }`:                                   "Field must have selections",
		`{ shop { name { x } } }`:                    "Selections can't be made on scalars",
		`{ orders(top: 1) { nodes { id } } }`:        "doesn't accept argument 'top'",
		`{ orders(sortKey: NAME) { nodes { id } } }`: "invalid value (NAME)",
		`{ shop { order { id } } }`:                  "missing required arguments: id",
		`{ thing { ... on Order { id } } }`:          "can't be spread",
		`{ thing { ... on Big { size } ...F } } fragment F on Small { grams }`: "",
		`{ ...Nope }`: "was used, but not defined",
		`query Q($id: ID!) { shop { order(id: $id) { id } } }`:          "Variable $id of type ID!",
		`query Q { shop { order(id: $x) { id } } }`:                     "is used but not declared",
		`mutation { make(input: {name: "x", no: 1}) { name } }`:         "doesn't accept argument 'no'",
		`mutation { make(input: {name: "x", inner: {b: 1}}) { name } }`: "doesn't accept argument 'b'",
		`{ shop { name }`:          "syntax error",
		`{ shop(a: "x) { name } }`: "syntax error",
		`subscription { x }`:       "syntax error",
		strings.Repeat(`{ a`, 40):  "more than 30 levels",
	} {
		_, problems := s.Check(query, "", nil)
		got := ""
		if len(problems) > 0 {
			got = problems[0].Message
		}
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestQueriesAreRun(t *testing.T) {
	s := parsed(t)
	root := Object{
		"shop": Object{"name": "Loja", "order": Call(func(args map[string]any) (any, error) {
			return Object{"id": args["id"], "total": Object{"amount": "1.00"}}, nil
		})},
		"thing": Object{Typename: "Big", "id": "b", "size": 3},
		"boom":  Call(func(map[string]any) (any, error) { return nil, errors.New("boom") }),
	}
	q, problems := s.Check(`query Q($id: ID = "7", $no: Boolean!) {
		a: shop { name, order(id: $id) { ...F } } thing { __typename id ... on Small { grams } ... on Big { size } }
		shop @include(if: $no) { name } boom } fragment F on Order { id total { amount } }`, "Q", map[string]any{"no": false})
	if len(problems) > 0 {
		t.Fatal(problems[0])
	}
	data, problems := q.Run(root)
	const want = `{"a":{"name":"Loja","order":{"id":"7","total":{"amount":"1.00"}}},` +
		`"thing":{"__typename":"Big","id":"b","size":3},"boom":null}`
	if string(data) != want || len(problems) != 1 || problems[0].Path[0] != "boom" || !json.Valid(data) {
		t.Errorf("%s %v", data, problems)
	}
}

func TestQueriesArePriced(t *testing.T) {
	s := parsed(t)
	for query, want := range map[string]int{
		`{ shop { name } }`:                                       1,
		`{ orders(first: 10) { nodes { id } } }`:                  12,
		`{ orders(first: 10) { nodes { id total { amount } } } }`: 22,
		`mutation { make(input: {name: "x"}) { name } }`:          11,
	} {
		q, problems := s.Check(query, "", nil)
		if len(problems) > 0 {
			t.Fatal(problems[0])
		}
		if got := q.Cost(func(n int) int { return n }); got != want {
			t.Errorf("%s costs %d, want %d", query, got, want)
		}
	}
}
