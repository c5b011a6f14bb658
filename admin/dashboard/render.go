package dashboard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// assets are the embedded files that pages load, by name.
type assets map[string]asset

type asset struct {
	body []byte
	mime string
	tag  string // of the content; it is part of the file's URL, so browsers may keep the file for ever
}

func loadAssets() (assets, error) {
	list := assets{}
	err := fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := assetFiles.ReadFile(name)
		if err != nil {
			return err
		}
		kind := mime.TypeByExtension(path.Ext(name))
		switch path.Ext(name) { // not from the machine's table, which may differ
		case ".js":
			kind = "text/javascript; charset=utf-8"
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".svg":
			kind = "image/svg+xml"
		}
		sum := sha256.Sum256(body)
		list[path.Base(name)] = asset{body: body, mime: kind, tag: hex.EncodeToString(sum[:6])}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: embedded files: %w", err)
	}
	return list, nil
}

func (a assets) url(name string) (string, error) {
	file, ok := a[name]
	if !ok {
		return "", fmt.Errorf("dashboard: no embedded file %q", name)
	}
	return "/dashboard/assets/" + name + "?v=" + file.tag, nil
}

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	file, ok := a[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", file.mime)
	if r.URL.Query().Get("v") == file.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(file.body)
}

// pages are the parsed templates, each with the layout around it.
type pages map[string]*template.Template

func parsePages(a assets) (pages, error) {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{"asset": a.url}).
		ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("dashboard: templates: %w", err)
	}
	list := pages{}
	for _, name := range []string{"login.html", "today.html", "order.html", "influencers.html", "problem.html"} {
		page, err := template.Must(layout.Clone()).ParseFS(templateFiles, "templates/"+name)
		if err != nil {
			return nil, fmt.Errorf("dashboard: templates: %w", err)
		}
		list[name] = page
	}
	return list, nil
}

// render writes a page whole, or an error page if the template fails.
func (s *Server) render(w http.ResponseWriter, status int, name string, data any) {
	var page bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&page, "layout.html", data); err != nil {
		s.log.Error("dashboard: render", "page", name, "error", err)
		http.Error(w, "The page could not be made. Try again.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes())
}

// problemPage is what templates/problem.html shows.
type problemPage struct {
	Title    string
	Text     string
	LoggedIn bool
	Back     string
}

func (s *Server) problem(w http.ResponseWriter, _ *http.Request, status int, title, text string) {
	s.render(w, status, "problem.html", problemPage{Title: title, Text: text, Back: "/dashboard/"})
}

// problemOf is problem for somebody who is logged in: the page has a log-out.
func (s *Server) problemOf(w http.ResponseWriter, _ *http.Request, _ access, status int, title, text string) {
	s.render(w, status, "problem.html", problemPage{Title: title, Text: text, LoggedIn: true, Back: "/dashboard/"})
}

// unavailable answers 503 after an error, which is logged and not shown. Guesses
// are answered 429 and not logged: whoever guesses must not fill the log.
func (s *Server) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client hung up
	}
	if errors.Is(err, errTooManyGuesses) {
		w.Header().Set("Retry-After", "1")
		s.problem(w, r, http.StatusTooManyRequests, "Too many attempts", "Too many unknown log-ins came from your network. Try again in a moment.")
		return
	}
	s.log.Error("dashboard: request failed", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", "5")
	s.problem(w, r, http.StatusServiceUnavailable, "Not available just now", "The data could not be read. Try again in a moment.")
}
