"""Streamlit's chat, as its tutorial builds it: the conversation in the session, the answer through write_stream."""

import json
import os
from pathlib import Path

import streamlit as st
from openai import OpenAI

client = OpenAI()

if "messages" not in st.session_state:
    stored = st.query_params.get("conversation")
    st.session_state.messages = (
        json.loads(Path(os.environ["STORED"], f"{stored}.json").read_text(encoding="utf-8")) if stored else []
    )

for message in st.session_state.messages:
    with st.chat_message(message["role"]):
        st.markdown(message["content"])

if question := st.chat_input("Message"):
    st.session_state.messages.append({"role": "user", "content": question})
    with st.chat_message("user"):
        st.markdown(question)
    with st.chat_message("assistant"):
        stream = client.chat.completions.create(model=os.environ["MODEL"], messages=st.session_state.messages, stream=True)
        answer = st.write_stream(stream)
    st.session_state.messages.append({"role": "assistant", "content": answer})
