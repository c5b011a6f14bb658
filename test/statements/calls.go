// Package statements tells which statements the product sends, and which it could send.
//
//	Recorder  keeps every statement that is sent, and from which lines of our code
//	Calls     lists every call in our code that sends a statement, so that none is left out
//
// What may enter: what tests of statements need. No program imports it.
package statements

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/types/typeutil"
)

// Call is a call in our code that sends a statement, or that passes one, or a
// part of one, to a function of ours that sends it.
type Call struct {
	Package, Function string
	File              string
	FromLine, ToLine  int

	SQL       string // the statement, where it is a constant
	Queued    bool   // it is put into a pgx.Batch, which is sent elsewhere
	Local     string // a local variable in the statement: not all its forms may have been seen
	ReadsName bool   // no call: the code reads pgconn.PgError.ConstraintName
}

// Calls lists the calls in the packages of a pattern, sorted by file and line. A
// statement must be a constant, or an expression of constants, of what packages
// declare and of parameters: one in a local variable may have several forms, and
// this check cannot tell whether all were seen.
func Calls(dir string, patterns ...string) ([]Call, error) {
	loaded, err := packages.Load(&packages.Config{Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo},
		patterns...)
	if err != nil {
		return nil, fmt.Errorf("load packages: %w", err)
	}
	f := &finder{takesSQL: map[string]int{}}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("load package %s: %w", p.PkgPath, p.Errors[0])
		}
	}
	// Callers of a function that sends its parameter are looked for in the next round.
	for known := -1; known != len(f.takesSQL); {
		known, f.calls = len(f.takesSQL), nil
		for _, p := range loaded {
			for _, file := range p.Syntax {
				f.file(p, file)
			}
		}
	}
	slices.SortStableFunc(f.calls, func(a, b Call) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		return a.FromLine - b.FromLine
	})
	return f.calls, nil
}

type finder struct {
	takesSQL map[string]int // full name of a function of ours → the index of the parameter that it sends
	calls    []Call
}

func (f *finder) file(p *packages.Package, file *ast.File) {
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if field, ok := p.TypesInfo.Uses[n.Sel].(*types.Var); ok && field.IsField() && field.Name() == "ConstraintName" &&
					strings.HasPrefix(field.Pkg().Path(), pgxPath) {
					f.add(p, function, n.Pos(), n.Sel.Pos(), Call{ReadsName: true})
				}
			case *ast.CallExpr:
				callee, ok := typeutil.Callee(p.TypesInfo, n).(*types.Func)
				if !ok {
					break
				}
				at, sends := f.statementOf(callee)
				if !sends || at >= len(n.Args) {
					break
				}
				call := Call{Queued: callee.Name() == "Queue"}
				if value := p.TypesInfo.Types[n.Args[at]].Value; value != nil && value.Kind() == constant.String {
					call.SQL = constant.StringVal(value)
				} else {
					call.Local = f.follow(p, function, n.Args[at])
				}
				f.add(p, function, n.Pos(), n.Lparen, call)
			}
			return true
		})
	}
}

func (f *finder) add(p *packages.Package, function *ast.FuncDecl, from, to token.Pos, c Call) {
	start := p.Fset.Position(from)
	c.Package, c.Function, c.File, c.FromLine, c.ToLine = p.PkgPath, function.Name.Name, start.Filename, start.Line, p.Fset.Position(to).Line
	f.calls = append(f.calls, c)
}

const pgxPath = "github.com/jackc/pgx/v5"

// statementOf returns which parameter of a function is a statement. Its name is
// sql in pgx, and in our interfaces that pgx's types implement.
func (f *finder) statementOf(callee *types.Func) (at int, sends bool) {
	callee = callee.Origin()
	if at, ok := f.takesSQL[callee.FullName()]; ok {
		return at, true
	}
	signature := callee.Signature()
	receiver := signature.Recv()
	ofPgx := callee.Pkg() != nil && strings.HasPrefix(callee.Pkg().Path(), pgxPath)
	if !ofPgx && (receiver == nil || !types.IsInterface(receiver.Type())) {
		return 0, false
	}
	for i := range signature.Params().Len() {
		parameter := signature.Params().At(i)
		if isString(parameter.Type()) && (parameter.Name() == "sql" || callee.Name() == "Queue") {
			return i, true
		}
	}
	return 0, false
}

func isString(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Kind() == types.String
}

// follow notes that a function sends a parameter, where the statement contains
// one, and returns the name of a local variable in the statement.
func (f *finder) follow(p *packages.Package, function *ast.FuncDecl, sql ast.Expr) (local string) {
	declared := p.TypesInfo.Defs[function.Name].(*types.Func)
	ast.Inspect(sql, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		variable, ok := p.TypesInfo.Uses[id].(*types.Var)
		if !ok || variable.IsField() || variable.Parent() == variable.Pkg().Scope() {
			return true
		}
		parameters := declared.Signature().Params()
		for i := range parameters.Len() {
			if parameters.At(i) == variable {
				f.takesSQL[declared.FullName()] = i
				return true
			}
		}
		local = id.Name
		return true
	})
	return local
}
