package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheTypesAreThoseOfTheSchema(t *testing.T) {
	root := filepath.Join("..", "..")
	want, err := makeTypes(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, eventTypesFile))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("docs/event.schema.json gives other types than %s has: go run ./sdk-js/build\n%s", eventTypesFile, want)
	}
}
