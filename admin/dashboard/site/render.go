package site

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed texts/*.txt
var textFiles embed.FS

//go:embed assets/*
var assetFiles embed.FS

// LoadTexts loads what the pages say in each language.
func LoadTexts() (*lang.Languages, error) { return lang.Load(textFiles) }

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

// ServeAsset answers with the embedded file that the path names.
func (s *Site) ServeAsset(w http.ResponseWriter, r *http.Request) {
	file, ok := s.assets[r.PathValue("name")]
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

// pages are the parsed templates of one language, each with the layout around it.
type pages map[string]*template.Template

// parsePages parses every file of templates/ but the layout and the parts, which
// all of them have.
func parsePages(a assets, l *lang.Printer) (pages, error) {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"asset": a.url, "t": l.T, "n": l.N, "count": l.Count, "day": l.Day, "lang": func() string { return l.Tag },
		// th is a text of the catalogue with its markup. Arguments are escaped.
		"th": func(key string, args ...any) template.HTML {
			for i, arg := range args {
				if text, ok := arg.(string); ok {
					args[i] = template.HTMLEscapeString(text)
				}
			}
			return template.HTML(l.T(key, args...)) //nolint:gosec // the catalogue is ours, and the arguments are escaped
		},
		"tags": func() []string { return lang.Tags },
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("dashboard: templates: %w", err)
	}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("dashboard: templates: %w", err)
	}
	list := pages{}
	for _, file := range files {
		name := path.Base(file)
		if name == "layout.html" || name == "parts.html" {
			continue
		}
		page, err := template.Must(layout.Clone()).ParseFS(templateFiles, file)
		if err != nil {
			return nil, fmt.Errorf("dashboard: templates: %w", err)
		}
		list[name] = page
	}
	return list, nil
}

// Fragment writes a template that a page's file defines, without the layout around it.
func (s *Site) Fragment(l *lang.Printer, name, part string, data any) (string, error) {
	var html bytes.Buffer
	err := s.pages[l.Tag][name].ExecuteTemplate(&html, part, data)
	return html.String(), err
}

// Render writes a page whole, in the language of the request, or an error page if
// the template fails. No text of it turns the direction of another.
func (s *Site) Render(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	var page bytes.Buffer
	if err := s.pages[s.LangOf(r).Tag][name].ExecuteTemplate(&page, "layout.html", data); err != nil {
		s.Log.Error("dashboard: render", "page", name, "error", err)
		http.Error(w, "The page could not be made. Try again.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, commerce.WriteDirections(page.String()))
}

// problemPage is what templates/problem.html shows.
type problemPage struct {
	Title    string
	Text     string
	LoggedIn bool
	Back     string
}

// Problem answers with a page whose words are the texts "problem.<key>" and
// "problem.<key>_text".
func (s *Site) Problem(w http.ResponseWriter, r *http.Request, status int, key string) {
	s.showProblem(w, r, status, key, false)
}

// ProblemOf is problem for somebody who is logged in: the page has a log-out.
func (s *Site) ProblemOf(w http.ResponseWriter, r *http.Request, status int, key string) {
	s.showProblem(w, r, status, key, true)
}

func (s *Site) showProblem(w http.ResponseWriter, r *http.Request, status int, key string, loggedIn bool) {
	l := s.LangOf(r)
	s.Render(w, r, status, "problem.html",
		problemPage{Title: l.T("problem." + key), Text: l.T("problem." + key + "_text"), LoggedIn: loggedIn, Back: "/dashboard/"})
}

// Unavailable answers 503 after an error, which is logged and not shown. Guesses
// are answered 429 and not logged: whoever guesses must not fill the log.
func (s *Site) Unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client hung up
	}
	if errors.Is(err, ErrTooManyGuesses) {
		w.Header().Set("Retry-After", "1")
		s.Problem(w, r, http.StatusTooManyRequests, "too_many")
		return
	}
	var stale *commerce.StaleError
	if errors.As(err, &stale) {
		s.stale(w, r, stale)
		return
	}
	if errors.Is(err, commerce.ErrNotOnKafka) {
		s.Log.Error("dashboard: a change is stored, and not on Kafka yet", "error", err)
		s.Problem(w, r, http.StatusServiceUnavailable, "not_on_kafka")
		return
	}
	if errors.Is(err, commerce.ErrArchived) { // since the page was asked for, or it is the store's other company
		s.ProblemOf(w, r, http.StatusForbidden, "archived")
		return
	}
	// The route and not the path: the path of a statement's link opens it.
	s.Log.Error("dashboard: request failed", "route", r.Pattern, "error", err)
	w.Header().Set("Retry-After", "5")
	s.Problem(w, r, http.StatusServiceUnavailable, "unavailable")
}

// ErrTooManyGuesses says that a network has shown too many refresh tokens that
// nobody has: another is not looked up.
var ErrTooManyGuesses = errors.New("dashboard: too many unknown refresh tokens from this network")

// ErrBadAddress says that no form of the page makes such an address.
var ErrBadAddress = errors.New("dashboard: the address asks for what there is not")

// Seconds is a pause in whole seconds, rounded up.
func Seconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }

// Refuse answers for what could not be shown.
func (s *Site) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, ErrBadAddress):
		s.ProblemOf(w, r, http.StatusBadRequest, "bad_address")
	case errors.Is(err, reports.ErrTooManyRows), errors.Is(err, reports.ErrTooManyChannels):
		s.ProblemOf(w, r, http.StatusUnprocessableEntity, "too_many_rows")
	default:
		s.Unavailable(w, r, err)
	}
}

// NotFoundOr answers a form that named what is not there, or unavailable.
func (s *Site) NotFoundOr(w http.ResponseWriter, r *http.Request, err error, key string) {
	if errors.Is(err, commerce.ErrNotFound) {
		s.ProblemOf(w, r, http.StatusNotFound, key)
		return
	}
	s.Unavailable(w, r, err)
}
