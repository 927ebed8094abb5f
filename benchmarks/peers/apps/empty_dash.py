"""An empty page of Dash, on the same version and backend as Waymark's."""

import os

import dash
import uvicorn

app = dash.Dash(__name__, backend="fastapi")
app.layout = dash.html.H1("An empty page")

if __name__ == "__main__":
    uvicorn.run(app.server, port=int(os.environ["PORT"]), log_level="warning")
