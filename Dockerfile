# Waymark as an image: `docker build -t waymark .`. See docs/operations.md, “Containers”.
ARG BASE=docker.io/library/python:3.13-slim-bookworm

FROM ${BASE} AS packages
COPY constraints.txt .
RUN python3 -m venv /venv \
 && /venv/bin/python -m pip install --quiet --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r constraints.txt

FROM ${BASE}
RUN useradd --system --uid 10001 --create-home waymark && install -d -o waymark -m 0700 /data
COPY --from=packages /venv /venv
COPY . /waymark
WORKDIR /waymark
# Whoever builds may keep their files to themselves (umask 077): the process has another user.
RUN chmod -R a+rX . && /venv/bin/python -m compileall -q .
USER waymark
ENV DATA_DIR=/data HOST=0.0.0.0 PYTHONUNBUFFERED=1
VOLUME /data
EXPOSE 8050
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s \
  CMD ["/venv/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8050/readyz', timeout=4)"]
ENTRYPOINT ["/venv/bin/python", "app.py"]
