-- Format version 8. Times are microseconds since 1970-01-01T00:00:00Z, 0 = not set.
-- Primary keys only: secondary indexes and foreign keys have broken on WAL replay.

CREATE TABLE meta (
    key   VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);

CREATE TABLE tenants (
    tenant   VARCHAR PRIMARY KEY,
    revision BIGINT NOT NULL
);

CREATE TABLE memories (
    label              BIGINT PRIMARY KEY,
    id                 VARCHAR  NOT NULL,
    tenant             VARCHAR  NOT NULL,
    user_id            VARCHAR  NOT NULL,
    agent_id           VARCHAR  NOT NULL,
    session_id         VARCHAR  NOT NULL,
    namespace          VARCHAR  NOT NULL,
    kind               UTINYINT NOT NULL,
    content            VARCHAR  NOT NULL,
    key                VARCHAR  NOT NULL,
    value_json         VARCHAR  NOT NULL,
    metadata_json      VARCHAR  NOT NULL,
    relevant_when_json VARCHAR  NOT NULL,
    confidence         DOUBLE   NOT NULL,
    language           VARCHAR  NOT NULL,
    create_time_us     BIGINT   NOT NULL,
    update_time_us     BIGINT   NOT NULL,
    status             UTINYINT NOT NULL,
    superseded_by      VARCHAR  NOT NULL,
    content_hash       BLOB     NOT NULL,
    revision           BIGINT   NOT NULL,
    embedding          BLOB,
    fingerprint        VARCHAR  NOT NULL,
    cue_embedding      BLOB,
    details            BLOB     NOT NULL
);

CREATE TABLE requests (
    tenant         VARCHAR NOT NULL,
    request_id     VARCHAR NOT NULL,
    method         VARCHAR NOT NULL,
    body_hash      BLOB    NOT NULL,
    response       BLOB    NOT NULL,
    create_time_us BIGINT  NOT NULL,
    PRIMARY KEY (tenant, request_id)
);

CREATE TABLE traces (
    tenant         VARCHAR NOT NULL,
    recall_id      VARCHAR NOT NULL,
    user_id        VARCHAR NOT NULL,
    create_time_us BIGINT  NOT NULL,
    header         BLOB    NOT NULL,
    candidates     BLOB    NOT NULL,
    PRIMARY KEY (tenant, recall_id)
);

CREATE TABLE tombstones (
    hash          BLOB PRIMARY KEY,
    purge_time_us BIGINT NOT NULL
);

CREATE TABLE purges (
    id                  VARCHAR PRIMARY KEY,
    tenant              VARCHAR NOT NULL,
    create_time_us      BIGINT  NOT NULL,
    complete_time_us    BIGINT  NOT NULL,
    row_count           BIGINT  NOT NULL,
    snapshot_count      BIGINT  NOT NULL,
    verified_file_count BIGINT  NOT NULL
);

CREATE TABLE sealed (
    label       BIGINT  NOT NULL,
    placeholder VARCHAR NOT NULL,
    data        BLOB    NOT NULL,
    PRIMARY KEY (label, placeholder)
);

CREATE TABLE renewals (
    label         BIGINT PRIMARY KEY,
    fingerprint   VARCHAR NOT NULL,
    source_hash   BLOB    NOT NULL,
    embedding     BLOB    NOT NULL,
    cue_count     INTEGER NOT NULL,
    cue_embedding BLOB
);
