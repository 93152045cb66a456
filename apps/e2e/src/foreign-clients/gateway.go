package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type withKey struct{ key string }

func (with withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+with.key)
	return http.DefaultTransport.RoundTrip(request)
}

// forwardTools offers every tool of a server under its own schema, which the SDK compiles, and calls one through that.
func forwardTools(url, key string) error {
	ctx := context.Background()
	about := &mcp.Implementation{Name: "gateway", Version: "1.0.0"}
	transport := &mcp.StreamableClientTransport{
		Endpoint:             url,
		HTTPClient:           &http.Client{Transport: withKey{key}},
		DisableStandaloneSSE: true,
	}
	upstream, err := mcp.NewClient(about, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer upstream.Close()
	server := mcp.NewServer(about, nil)
	count := 0
	for tool, err := range upstream.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if err := forward(server, upstream, tool); err != nil {
			return fmt.Errorf("%s: %w", tool.Name, err)
		}
		count++
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, here, nil); err != nil {
		return err
	}
	session, err := mcp.NewClient(about, nil).Connect(ctx, there, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	call := &mcp.CallToolParams{Name: "list_risks", Arguments: map[string]any{"updatedSince": "2020-01-01t00:00:00.123456789z"}}
	answer, err := session.CallTool(ctx, call)
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer.StructuredContent)
	if err != nil {
		return err
	}
	fmt.Printf("{\"offered\": %d, \"listed\": %d, \"isError\": %t, \"risks\": %s}\n", count, len(listed.Tools), answer.IsError, text)
	return nil
}

func forward(server *mcp.Server, upstream *mcp.ClientSession, tool *mcp.Tool) error {
	text, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return err
	}
	var schema google.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	// The generic function compiles the schema, and panics if it cannot.
	offered := &mcp.Tool{Name: tool.Name, Description: tool.Description, InputSchema: &schema}
	mcp.AddTool(server, offered, func(ctx context.Context, _ *mcp.CallToolRequest, arguments map[string]any) (*mcp.CallToolResult, any, error) {
		answer, err := upstream.CallTool(ctx, &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
		return answer, nil, err
	})
	return nil
}
