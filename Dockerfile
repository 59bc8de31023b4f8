# The base image is a build argument, so that it can be built from a mirror or from a root of one's own:
# any Debian with Python 3.11 or later and git 2.38 or later among its packages will do.
ARG BASE=python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

# First stage: the wheel, and an environment with nothing in it but the wheel and what it needs.
FROM ${BASE} AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --disable-pip-version-check build \
    && /opt/build/bin/python -m build --wheel --outdir /dist
RUN python3 -m venv /opt/gatekeeper \
    && /opt/gatekeeper/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: /dist/*.whl \
    && /opt/gatekeeper/bin/pip uninstall --yes --quiet pip setuptools \
    && find /opt/gatekeeper -name __pycache__ -prune -exec rm -rf {} + \
    && /opt/gatekeeper/bin/python -m compileall -q -j 0 /opt/gatekeeper

# Second stage: git does the reading, OpenSSH verifies signatures.
FROM ${BASE}
# The versions are those of the base image's Debian release, security updates included.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates git openssh-client \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/dpkg.log /var/log/apt
COPY --from=build /opt/gatekeeper /opt/gatekeeper
COPY LICENSE /usr/share/doc/gatekeeper/LICENSE
# Log lines appear when they are written, and text is UTF-8 whatever the runner's locale.
ENV PATH=/opt/gatekeeper/bin:$PATH PYTHONUNBUFFERED=1 PYTHONUTF8=1
# No USER: the runner's file commands and workspace belong to another user, and only root writes to them.
# hadolint ignore=DL3002
HEALTHCHECK NONE
ENTRYPOINT ["gatekeeper", "action"]
