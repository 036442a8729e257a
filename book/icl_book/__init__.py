"""What the book needs beside `icl`: claims, notebook helpers, figures, the runner and the site."""
