//go:build tools

// Keeps vegeta and what it needs in go.mod and go.sum. Nothing here is compiled.
package tools

import _ "github.com/tsenart/vegeta/v12"
